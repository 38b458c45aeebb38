"""Faster exact engines: equal to `nets` on everything. They read weights, never machines."""
