"""What the pages say, as data: facts, sentences, operands, lines of syntax, and where each of these stands on the site."""
