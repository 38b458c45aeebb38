"""Pictures of machines and runs, as SVG and PNG, by the standard library and numpy alone."""
