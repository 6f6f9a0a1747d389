"""What is learned: structures, tables and densities, networks, logistic regressions, pools and averages."""
