use overtake_trace::*;
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let check = std::env::args().nth(2).is_some();
    let mut source = open(&path, None).unwrap();
    let mut checker = Checker::repairing();
    let mut block = Block::default();
    let mut n = 0;
    while source.next_block(&mut block).unwrap() {
        n += block.events.len();
        if check {
            checker.check(&mut block, source.symbols_mut()).unwrap();
        }
    }
    eprintln!("{n}");
}
