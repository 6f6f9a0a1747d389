"""Tables that follow from a published rule: generated on the spot, complete and free of noise.

Each table lists every case its rule speaks of exactly once, in lexicographic order of the declared
states. The balance scale, the lenses and the MONK's test sets come so from the UCI repository as well.
"""

from collections.abc import Iterable, Sequence

from anbexact.datasets._tables import Row, State, Table, complete, table

_MONKS = {
    "head_shape": ["round", "square", "octagon"],
    "body_shape": ["round", "square", "octagon"],
    "is_smiling": ["yes", "no"],
    "holding": ["sword", "balloon", "flag"],
    "jacket_color": ["red", "yellow", "green", "blue"],
    "has_tie": ["yes", "no"],
}
_SQUARES = [f"{row}_{col}" for row in ("top", "middle", "bottom") for col in ("left", "middle", "right")]
_LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


def load_monks(problem: int = 1) -> Table:
    """Return one of the three MONK's problems: all 432 robots and who of them is a monk.

    1. head_shape equals body_shape, or jacket_color is red (216 yes, 216 no);
    2. exactly two of the six attributes have their first declared value (142 yes, 290 no);
    3. jacket_color is green and holding is sword, or jacket_color is not blue and body_shape is
       not octagon (228 yes, 204 no).

    There is no label noise. The published *training* sample of problem 3 has 5 % of its labels
    flipped; this is the complete space with the true labels, the published test set.

    Parameters
    ----------
    problem : {1, 2, 3}
        The number of the problem.

    Returns
    -------
    X : DataFrame of shape (432, 6)
        Unordered categorical columns.
    y : Series of shape (432,), named "is_monk"
        "yes" or "no".

    Raises
    ------
    ValueError
        If `problem` is not 1, 2 or 3.

    References
    ----------
    Thrun, S. B. et al. (1991). The MONK's problems: a performance comparison of different learning
    algorithms. Technical report CMU-CS-91-197, Carnegie Mellon University.

    Examples
    --------
    >>> X, y = load_monks(2)
    >>> X.shape, int((y == "yes").sum())
    ((432, 6), 142)
    """
    rules = {1: _monk_1, 2: _monk_2, 3: _monk_3}
    if problem not in rules:
        raise ValueError(f"problem must be 1, 2 or 3, got {problem!r}")
    rule = rules[problem]
    return complete(_MONKS, lambda row: "yes" if rule(row) else "no", name="is_monk")


def load_tic_tac_toe() -> Table:
    """Return the 958 distinct boards on which a game of tic-tac-toe can end.

    x moves first; play stops at three in a row or on a full board. The class is "positive" when
    x has three in a row (626 boards) and "negative" otherwise (316 wins of o and 16 draws).

    Returns
    -------
    X : DataFrame of shape (958, 9)
        One column per square, named top_left to bottom_right; unordered states x, o and b (blank).
    y : Series of shape (958,), named "x_wins"
        "positive" or "negative".

    References
    ----------
    Aha, D. (1991). Tic-Tac-Toe Endgame. UCI Machine Learning Repository, doi:10.24432/C5688J.

    Examples
    --------
    >>> X, y = load_tic_tac_toe()
    >>> y.value_counts().to_dict()
    {'positive': 626, 'negative': 332}
    """
    states: dict[str, Sequence[State]] = {square: ["x", "o", "b"] for square in _SQUARES}
    boards = sorted(_end_boards(), key=lambda board: ["xob".index(mark) for mark in board])
    labels = ["positive" if _has_line(board, "x") else "negative" for board in boards]
    return table([tuple(board) for board in boards], labels, states, name="x_wins")


def load_balance_scale() -> Table:
    """Return the 625 settings of a balance scale and the side to which it tips.

    The class compares left_weight * left_distance with right_weight * right_distance: "L" (288)
    or "R" (288) for the larger torque, "B" (49) for balance.

    Returns
    -------
    X : DataFrame of shape (625, 4)
        Ordered categorical columns with the states 1 to 5.
    y : Series of shape (625,), named "tips_to"
        "L", "B" or "R".

    References
    ----------
    Siegler, R. S. (1976). Three aspects of cognitive development. *Cognitive Psychology* 8, 481-520;
    UCI Machine Learning Repository, doi:10.24432/C5488X.

    Examples
    --------
    >>> X, y = load_balance_scale()
    >>> y.value_counts()[["L", "B", "R"]].to_list()
    [288, 49, 288]
    """
    columns = ("left_weight", "left_distance", "right_weight", "right_distance")
    states: dict[str, Sequence[State]] = {column: [1, 2, 3, 4, 5] for column in columns}
    return complete(states, _tips_to, name="tips_to", ordered=True)


def load_multiplexer(address_bits: int = 2) -> Table:
    """Return the complete truth table of a Boolean multiplexer.

    With k address bits, read as a binary number with address_0 its most significant bit, the
    output is the data bit of that number: 2^(k + 2^k) rows, half of them of either class.

    Parameters
    ----------
    address_bits : {1, 2, 3}
        k, which gives 3, 6 or 11 features and 8, 64 or 2048 rows.

    Returns
    -------
    X : DataFrame of shape (2^(k + 2^k), k + 2^k)
        Columns address_0, ..., then data_0, ...; unordered categorical with the states 0 and 1.
    y : Series of shape (2^(k + 2^k),), named "output"
        "off" (the data bit is 0) or "on" (it is 1).

    Raises
    ------
    ValueError
        If `address_bits` is not 1, 2 or 3: four address bits would make 2^20 rows.

    References
    ----------
    Wilson, S. W. (1987). Classifier systems and the animat problem. *Machine Learning* 2, 199-228.

    Examples
    --------
    >>> X, y = load_multiplexer()
    >>> list(X.columns)
    ['address_0', 'address_1', 'data_0', 'data_1', 'data_2', 'data_3']
    """
    if address_bits not in (1, 2, 3):
        raise ValueError(f"address_bits must be 1, 2 or 3, got {address_bits!r}")
    addresses = [f"address_{i}" for i in range(address_bits)]
    data = [f"data_{i}" for i in range(2**address_bits)]
    states: dict[str, Sequence[State]] = {column: [0, 1] for column in addresses + data}
    return complete(states, lambda row: _selected(row, address_bits), name="output")


def load_lenses() -> Table:
    """Return the 24 patients of the contact lenses problem and the lenses that suit them.

    With a normal tear rate, astigmatic patients get hard lenses if they are myope or young, the
    others soft ones unless they are presbyopic and myope; nobody else gets lenses
    (4 hard, 5 soft, 15 none).

    Returns
    -------
    X : DataFrame of shape (24, 4)
        Categorical columns; only age is ordered.
    y : Series of shape (24,), named "lenses"
        "hard", "soft" or "none".

    References
    ----------
    Cendrowska, J. (1987). PRISM: an algorithm for inducing modular rules. *International Journal of
    Man-Machine Studies* 27, 349-370; UCI Machine Learning Repository, doi:10.24432/C5K88Z.

    Examples
    --------
    >>> X, y = load_lenses()
    >>> y.value_counts()[["hard", "soft", "none"]].to_list()
    [4, 5, 15]
    """
    states = {
        "age": ["young", "pre-presbyopic", "presbyopic"],
        "prescription": ["myope", "hypermetrope"],
        "astigmatic": ["no", "yes"],
        "tear_rate": ["reduced", "normal"],
    }
    X, y = complete(states, _lenses, name="lenses")
    return X.assign(age=X["age"].cat.as_ordered()), y


def _monk_1(row: Row) -> bool:
    head, body, _, _, jacket, _ = row
    return head == body or jacket == "red"


def _monk_2(row: Row) -> bool:
    firsts = (values[0] for values in _MONKS.values())
    return sum(value == first for value, first in zip(row, firsts, strict=True)) == 2


def _monk_3(row: Row) -> bool:
    _, body, _, holding, jacket, _ = row
    return (jacket == "green" and holding == "sword") or (jacket != "blue" and body != "octagon")


def _tips_to(row: Row) -> str:
    left_weight, left_distance, right_weight, right_distance = map(int, row)
    left, right = left_weight * left_distance, right_weight * right_distance
    return "L" if left > right else "R" if right > left else "B"


def _selected(row: Row, address_bits: int) -> str:
    address = int("".join(map(str, row[:address_bits])), base=2)
    return "on" if row[address_bits + address] == 1 else "off"


def _lenses(row: Row) -> str:
    age, prescription, astigmatic, tear_rate = row
    if tear_rate == "reduced":
        return "none"
    if astigmatic == "yes":
        return "hard" if prescription == "myope" or age == "young" else "none"
    return "none" if prescription == "myope" and age == "presbyopic" else "soft"


def _end_boards() -> set[str]:
    """Return the boards, as nine marks row by row, on which play stops: level by level from the empty one."""
    ended: set[str] = set()
    open_boards = {"b" * 9}
    for move in range(9):
        mark = "xo"[move % 2]
        reached = {after for board in open_boards for after in _moves(board, mark)}
        won = {board for board in reached if _has_line(board, mark)}
        ended |= won
        open_boards = reached - won
    return ended | open_boards


def _moves(board: str, mark: str) -> Iterable[str]:
    return (board[:i] + mark + board[i + 1 :] for i in range(9) if board[i] == "b")


def _has_line(board: str, mark: str) -> bool:
    return any(all(board[i] == mark for i in line) for line in _LINES)
