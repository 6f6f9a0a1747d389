"""Classifiers for other programs: ONNX, PMML, SQL, Python without this package, skops, MLflow."""
