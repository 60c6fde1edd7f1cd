"""Facts of client, scheduler and workers, and the findings that follow from them."""
