"""Networks: kinds as records, and the one object that users hold. Start with `network`."""
