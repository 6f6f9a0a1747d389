"""Linear logistic regression, drawn towards linear discriminant analysis."""
