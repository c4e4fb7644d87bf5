"""Metadata and entry points of the distribution."""

from pathlib import Path

from setuptools import find_packages, setup

setup(
    name="torch-spyre-provenance",
    version="0.1.0",
    description="Which line of a PyTorch model became which Spyre kernel, and back.",
    long_description=Path(__file__).with_name("README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license_expression="Apache-2.0",
    license_files=["LICENSE"],
    keywords=["pytorch", "inductor", "compiler", "provenance", "spyre", "debugging"],
    classifiers=[
        "Development Status :: 4 - Beta",
        "Intended Audience :: Developers",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3 :: Only",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Software Development :: Compilers",
        "Topic :: Software Development :: Debuggers",
        "Typing :: Typed",
    ],
    packages=find_packages(include=["torch_spyre_provenance*"]),
    package_data={
        "torch_spyre_provenance": ["py.typed"],
        "torch_spyre_provenance.export": ["sql/*.sql"],
        "torch_spyre_provenance.frontends.cardless": ["bin/*"],
        "torch_spyre_provenance.report": ["templates/*"],
        "torch_spyre_provenance.store": ["schemas/*.json"],
    },
    python_requires=">=3.11",
    install_requires=[
        # The compiler that is observed. Bundles are read without importing it.
        "torch>=2.11",
        # The values of a bundle.
        "attrs>=23.2",
        # Between those values and JSON: structure, and speed.
        "cattrs>=24.1",
        "orjson>=3.10",
        # The command line.
        "click>=8.1",
        # Only one process at a time takes old bundles away.
        "filelock>=3.12",
        # The page.
        "jinja2>=3.1",
    ],
    extras_require={
        "test": [
            # Exported tables are queried with it.
            "duckdb>=1.2",
            # The page is tested in a real browser, Debian's chromium, for access too.
            "axe-playwright-python>=0.1.4",
            "hypothesis>=6.100",
            # MLIR's own reader, for the locations that reports write as MLIR.
            "iree-base-compiler>=3.9",
            "jsonschema>=4.21",
            # The changes to torch-spyre's source under patches/ are codemods.
            "libcst>=1.7",
            # Without it, `import torch` warns.
            "numpy>=1.26",
            # What HolisticTraceAnalysis needs to read a trace; `make setup` installs it
            # by itself, without the JupyterLab that it asks for.
            "pandas>=2.2",
            "playwright>=1.40",
            "plotly>=5.20",
            "psutil>=6",
            "pydot>=3",
            "pytest>=8.2",
            "pytest-timeout>=2.3",
            "pytest-xdist>=3.6",
            # The package is built and installed by a test, without network.
            "setuptools>=77",
            # It shows PyTorch's trace logs, ours among them.
            "tlparse>=0.4",
        ],
        # Compressed bundles.
        "zstd": [
            "zstandard>=0.22",
        ],
        # Many bundles as tables.
        "export": [
            "pyarrow>=16",
        ],
        # Benchmarks: micro-benchmarks, and the picture of the overhead.
        "bench": [
            "matplotlib>=3.8",
            "pytest-benchmark>=5.0",
        ],
        # Real architectures for the reference front end; nothing is downloaded.
        "models": [
            "transformers>=5.0",
        ],
        "lint": [
            "import-linter>=2.1",
            "mypy>=1.15",
            "ruff>=0.11",
        ],
    },
    entry_points={
        "console_scripts": [
            "spyre-provenance = torch_spyre_provenance.cli:main",
        ],
        # `import torch` calls these.
        "torch.backends": [
            "torch_spyre_provenance = torch_spyre_provenance.autoload:autoload",
        ],
        # `torch.compile(model, backend="spyre_provenance")` finds these by name.
        "torch_dynamo_backends": [
            "spyre_provenance = torch_spyre_provenance.backend:spyre_provenance",
        ],
    },
    # The default subject's source lines are read from its file.
    zip_safe=False,
)
