"""The paper's definitions, slow and obvious: the living definition that faster engines equal."""
