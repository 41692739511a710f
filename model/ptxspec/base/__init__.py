"""What every folder of the model may use: where the documents lie, files, what is kept between runs, strings of options, values
for JSON, text for terminals, processes, and campaigns of work in them."""
