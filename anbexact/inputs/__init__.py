"""From a frame to a table: reading, cutting, missing cells, identifiers, class weights."""
