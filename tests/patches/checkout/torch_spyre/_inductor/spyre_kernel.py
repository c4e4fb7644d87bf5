"""The kernel: makes OpSpecs."""

from .op_spec import OpSpec


class SpyreKernel:
    """A kernel in the making."""

    def __init__(self):
        self.op_specs = []
        self.current_node = None

    def create_op_spec(self, op, args):
        """Return the spec of the node that is being compiled."""
        if op == "nothing":
            return None

        ir_node = self.current_node.node
        return OpSpec(
            op,
            args,
            tiled_symbols=ir_node.tiled_symbols,
        )
