"""What people look at: text for the terminal, values for JSON."""
