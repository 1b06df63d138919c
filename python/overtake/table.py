"""Rows as a table of pandas."""


def table(rows):
    """Makes a pandas DataFrame of rows (dictionaries). The columns are in the order of their first appearance."""
    import pandas

    return pandas.DataFrame(list(rows))
