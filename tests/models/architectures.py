"""Real architectures with random weights, small enough to compile in seconds.

Those of `transformers` are made from a configuration, so nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import torch
from attrs import frozen
from torch import nn
from torch.nn import functional

WORDS = 96
WIDTH = 64
HEADS = 4
LENGTH = 10


@frozen(kw_only=True)
class Architecture:
    """One model.

    Attributes:
        make: Makes it, on the host.
        inputs: Makes its keyword arguments, on the host.
        fullgraph: Whether Dynamo is asked for a single graph.
    """

    make: Callable[[], nn.Module]
    inputs: Callable[[], dict[str, Any]]
    fullgraph: bool = True


def words(*shape: int) -> torch.Tensor:
    """Return the same random word indices each time."""
    generator = torch.Generator().manual_seed(0)
    return torch.randint(1, WORDS, shape, generator=generator)


def _text() -> dict[str, Any]:
    return {"input_ids": words(2, LENGTH)}


def _decoder(name: str, **settings: Any) -> Callable[[], nn.Module]:
    """Return what makes a decoder without a cache between its calls."""

    def make() -> nn.Module:
        import transformers

        config = getattr(transformers, f"{name}Config")(
            vocab_size=WORDS,
            hidden_size=WIDTH,
            intermediate_size=2 * WIDTH,
            num_hidden_layers=2,
            num_attention_heads=HEADS,
            max_position_embeddings=32,
            use_cache=False,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
            **settings,
        )
        model: nn.Module = getattr(transformers, f"{name}ForCausalLM")(config)
        return model

    return make


def _encoder(name: str) -> Callable[[], nn.Module]:
    def make() -> nn.Module:
        import transformers

        config = getattr(transformers, f"{name}Config")(
            vocab_size=WORDS,
            hidden_size=WIDTH,
            intermediate_size=2 * WIDTH,
            num_hidden_layers=2,
            num_attention_heads=HEADS,
            max_position_embeddings=32,
            pad_token_id=0,
        )
        model: nn.Module = getattr(transformers, f"{name}Model")(config)
        return model

    return make


def _gpt2() -> nn.Module:
    import transformers

    config = transformers.GPT2Config(
        vocab_size=WORDS,
        n_embd=WIDTH,
        n_layer=2,
        n_head=HEADS,
        n_positions=32,
        use_cache=False,
        bos_token_id=1,
        eos_token_id=2,
    )
    return transformers.GPT2LMHeadModel(config)


def _t5_encoder() -> nn.Module:
    import transformers

    config = transformers.T5Config(
        vocab_size=WORDS,
        d_model=WIDTH,
        d_kv=WIDTH // HEADS,
        d_ff=2 * WIDTH,
        num_layers=2,
        num_heads=HEADS,
    )
    return transformers.T5EncoderModel(config)


def _vit() -> nn.Module:
    import transformers

    config = transformers.ViTConfig(
        image_size=32,
        patch_size=8,
        hidden_size=WIDTH,
        intermediate_size=2 * WIDTH,
        num_hidden_layers=2,
        num_attention_heads=HEADS,
    )
    return transformers.ViTModel(config)


def _image() -> dict[str, Any]:
    generator = torch.Generator().manual_seed(0)
    return {"pixel_values": torch.randn(2, 3, 32, 32, generator=generator)}


class _Residual(nn.Module):
    """Two convolutions and the way around them."""

    def __init__(self, inward: int, outward: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inward, outward, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(outward)
        self.second = nn.Conv2d(outward, outward, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(outward)
        self.around = (
            nn.Identity()
            if inward == outward
            else nn.Sequential(
                nn.Conv2d(inward, outward, 1, stride, bias=False),
                nn.BatchNorm2d(outward),
            )
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the block's output."""
        y = functional.relu(self.first_norm(self.first(x)))
        y = self.second_norm(self.second(y))
        return functional.relu(y + self.around(x))


class ResNet18(nn.Module):
    """The 18-layer residual network, with an eighth of its channels."""

    def __init__(self) -> None:
        super().__init__()
        widths = (8, 8, 16, 32, 64)
        self.stem = nn.Conv2d(3, widths[0], 7, 2, 3, bias=False)
        self.stem_norm = nn.BatchNorm2d(widths[0])
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.stages = nn.Sequential(
            *(
                nn.Sequential(
                    _Residual(inward, outward, 1 if inward == outward else 2),
                    _Residual(outward, outward, 1),
                )
                for inward, outward in pairwise(widths)
            )
        )
        self.head = nn.Linear(widths[-1], 10)

    def forward(self, pixel_values: torch.Tensor) -> torch.Tensor:
        """Return the scores of ten classes for ``[batch, 3, height, width]``."""
        x = self.pool(functional.relu(self.stem_norm(self.stem(pixel_values))))
        return self.head(self.stages(x).mean((2, 3)))


ARCHITECTURES: Mapping[str, Architecture] = {
    "Llama": Architecture(make=_decoder("Llama", num_key_value_heads=2), inputs=_text),
    "Granite": Architecture(
        make=_decoder("Granite", num_key_value_heads=2), inputs=_text
    ),
    "Mixtral": Architecture(
        make=_decoder("Mixtral", num_key_value_heads=2, num_local_experts=4),
        inputs=_text,
    ),
    "GPT-2": Architecture(make=_gpt2, inputs=_text),
    "BERT": Architecture(make=_encoder("Bert"), inputs=_text),
    "RoBERTa": Architecture(make=_encoder("Roberta"), inputs=_text),
    "T5 encoder": Architecture(make=_t5_encoder, inputs=_text),
    "ViT": Architecture(make=_vit, inputs=_image),
    "ResNet-18": Architecture(make=ResNet18, inputs=_image),
}
"""Every architecture, by the name that the table in the docs has for it."""
