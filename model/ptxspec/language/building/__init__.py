"""What is made of a text as the rules of the pages read it: the tree, and complaints about what no rule of grammar says."""
