"""Threads that wait for one another: drivers of the steps on the pages about barriers, clusters and warps."""
