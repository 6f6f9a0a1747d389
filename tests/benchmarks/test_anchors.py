"""The folds of OpenML, drawn again from their seed."""

from benchmarks.quality.anchors import JavaRandom, md5_of, openml_folds


def test_random_numbers_are_those_of_java():
    random = JavaRandom(0)
    assert [random.below(100) for _ in range(10)] == [60, 48, 29, 47, 15, 53, 91, 61, 19, 54]


def test_folds_of_iris_have_the_md5_that_openml_publishes():
    folds = openml_folds(["setosa"] * 50 + ["versicolor"] * 50 + ["virginica"] * 50)
    assert md5_of("iris", folds) == "478a48e90ec98ea54c76425cebc992ea"


def test_folds_are_stratified_and_contain_every_row_once():
    classes = ["a", "b", "b"] * 21
    folds = openml_folds(classes, 4)
    assert sorted(row for fold in folds for row in fold) == list(range(63))
    assert [len(fold) for fold in folds] == [16, 16, 16, 15]
    assert {sum(classes[row] == "a" for row in fold) for fold in folds} <= {5, 6}
