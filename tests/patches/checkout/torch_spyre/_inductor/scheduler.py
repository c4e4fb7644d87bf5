"""The scheduling class: builds kernels."""

from .spyre_kernel import SpyreKernel


class SuperDSCScheduling:
    def codegen_node(self, node):
        """Build a kernel for a node."""
        if node == "loop":
            return self._codegen_loop(node)
        kernel = SpyreKernel()
        return self._fill(kernel, node)

    def _codegen_loop(self, node):
        # A loop has a kernel of its own.
        kernel = SpyreKernel()
        return self._fill(kernel, node)

    def _fill(self, kernel: SpyreKernel, node):
        kernel.op_specs.append(node)
        return kernel
