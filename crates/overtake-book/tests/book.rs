//! The book of this repository has no problems, and the problems of broken books are found.

use std::fs;
use std::path::Path;

use overtake_book::Book;

/// A repository of these files.
fn repository(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a temporary directory");
    for (name, text) in files {
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory is made");
        fs::write(path, text).expect("a file is written");
    }
    root
}

fn problems(files: &[(&str, &str)]) -> Vec<String> {
    Book::read(repository(files).path()).expect("a table of contents").problems
}

#[test]
fn our_book_has_no_broken_link() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let book = Book::read(&root).expect("our documents are readable");
    assert!(book.problems.is_empty(), "{}", book.problems.join("\n"));
    assert!(book.chapters.len() > 15, "{}", book.chapters.len());
}

#[test]
fn a_link_to_no_file_or_no_heading_is_a_problem() {
    let found = problems(&[
        ("docs/SUMMARY.md", "# Summary\n\n- [A](a.md)\n"),
        (
            "docs/a.md",
            "# A\n\n[no file](b.md), [no heading](#c), [out](../../x), [good](#a), ![none](a.svg)\n",
        ),
    ]);
    assert_eq!(
        found,
        [
            "docs/a.md: the link to `#c` leads to no heading",
            "docs/a.md: the link to `../../x` leads out of the repository",
            "docs/a.md: the link to `a.svg` leads to no file",
            "docs/a.md: the link to `b.md` leads to no file",
        ]
    );
}

#[test]
fn a_page_outside_the_table_of_contents_is_a_problem() {
    let found = problems(&[
        ("docs/SUMMARY.md", "- [A](a.md)\n- [B](b.md)\nwhat is this\n"),
        ("docs/a.md", "# A\n"),
        ("docs/c.md", "# C\n"),
    ]);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].starts_with("docs/SUMMARY.md:3: expected a heading or a link"), "{found:?}");
    assert!(found[1].starts_with("docs/SUMMARY.md: b.md: "), "{found:?}");
    assert_eq!(found[2], "docs/c.md: is not in docs/SUMMARY.md");
}

#[test]
fn links_lead_to_chapters_to_copies_and_to_the_repository() {
    let root = repository(&[
        ("docs/SUMMARY.md", "[A](a.md)\n\n# Part\n\n- [Inside](inside.md)\n"),
        ("docs/a.md", "# A & B\n\n[1](inside.md#parts) [2](../BOOK.md) [3](x.svg) [4](../code.c) `<b>`\n"),
        ("docs/inside.md", "{{#include ../BOOK.md}}\n"),
        ("docs/x.svg", "<svg/>"),
        ("BOOK.md", "# Inside\n\n## Parts\n\n[back](docs/a.md)\n\n## Parts\n\n| a |\n| --- |\n| b |\n"),
        ("code.c", ""),
    ]);
    let book = Book::read(root.path()).expect("readable");
    assert!(book.problems.is_empty(), "{:?}", book.problems);
    let out = root.path().join("out");
    book.write(&out).expect("writable");
    let page = |name: &str| fs::read_to_string(out.join(name)).expect("a page");
    let first = page("a.html");
    for expected in [
        "<h1 id=\"a--b\">A &amp; B</h1>",
        "href=\"inside.html#parts\"",
        "href=\"inside.html\">2<",
        "href=\"x.svg\"",
        "href=\"https://github.com/overtake-race/overtake/blob/main/code.c\"",
        "<code>&lt;b&gt;</code>",
    ] {
        assert!(first.contains(expected), "{expected} in {first}");
    }
    let second = page("inside.html");
    for expected in
        ["href=\"a.html\">back<", "<h2 id=\"parts\">", "<h2 id=\"parts-1\">", "<div class=\"wide\""]
    {
        assert!(second.contains(expected), "{expected} in {second}");
    }
    assert!(out.join("x.svg").exists());
    assert!(page("search.js").contains("[\"inside.html#parts\", \"Inside\", \"Parts\", \"back \"]"));
    assert_eq!(page("index.html"), first);
}
