"""What people look at: pictures without other libraries, displays of notebooks, figures by matplotlib, reports."""
