"""What people look at: pictures that need no other library, notebook displays, matplotlib figures and reports."""
