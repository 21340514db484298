"""Text states from an open_clip text tower, split so that the frozen part can be cached.

`TextTower.lower_states` runs everything below the last two transformer layers; `encoding` stores that once
per distinct text. `UpperText` is those two layers and the final norm; it runs inside training, so that a
stage can train them. Lower then upper equals the tower's own token states (tested).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass
from typing import Any

import torch
from open_clip.model import CLIPTextCfg, _build_text_tower
from torch import Tensor, nn

from components.model.clip import load_clip
from components.model.policy import UPPER_LAYERS

Tokenizer = Callable[[list[str]], Tensor]
"""texts -> token ids (N, context) int64, padded."""


class TextTowerError(ValueError):
    """A model whose text tower is not a plain CLIP transformer."""


@dataclass(frozen=True)
class TextStates:
    """hidden: (N, L, D) float32 token states; mask: (N, L) bool, True up to and including the end token."""

    hidden: Tensor
    mask: Tensor

    def row(self, index: int) -> tuple[Tensor, Tensor]:
        """One text without its padding: (l, D) and (l,) all True; what `encoding` stores."""
        length = int(self.mask[index].sum())
        return self.hidden[index, :length], self.mask[index, :length]


def stack_states(rows: Sequence[Tensor]) -> TextStates:
    """Texts of different lengths, each (l, D), padded with zeros to the longest and masked."""
    lengths = torch.tensor([len(row) for row in rows])
    hidden = nn.utils.rnn.pad_sequence(list(rows), batch_first=True).float()
    return TextStates(hidden, torch.arange(hidden.shape[1]) < lengths[:, None])


class UpperText(nn.Module):
    """The last transformer layers and the final norm of a CLIP text tower.

    config: open_clip's text_cfg plus `quick_gelu`, enough to build it again for a checkpoint.
    The attention is causal, so states of real tokens do not depend on the padding after them, nor on how much
    of it was cut off.
    """

    def __init__(self, config: dict[str, Any], layers: int = UPPER_LAYERS) -> None:
        super().__init__()
        self.config = {**config, "upper_layers": layers}
        text_cfg = {k: v for k, v in config.items() if k not in ("quick_gelu", "upper_layers")}
        # The embedding table and the positions stay below; one word keeps this throw-away tower small.
        tower = _build_text_tower(
            8, CLIPTextCfg(**{**text_cfg, "layers": layers, "vocab_size": 1}), config.get("quick_gelu", False)
        )
        self.transformer = tower.transformer
        self.ln_final = tower.ln_final

    @property
    def width(self) -> int:
        return int(self.config["width"])

    def forward(self, hidden: Tensor) -> Tensor:
        """Lower states (B, L, D) -> token states (B, L, D)."""
        length = hidden.shape[1]
        causal = torch.full((length, length), float("-inf"), dtype=hidden.dtype, device=hidden.device)
        return self.ln_final(self.transformer(hidden, attn_mask=causal.triu_(1)))


class TextTower:
    """A frozen CLIP text tower. `config` is open_clip's text_cfg as a dict, plus "quick_gelu"."""

    def __init__(self, model: nn.Module, tokenizer: Tokenizer, config: dict[str, Any]) -> None:
        # open_clip has two layouts: CLIP keeps the tower's parts on itself, CustomTextCLIP under `.text`.
        inner = getattr(model, "text", None)
        self.tower: Any = inner if isinstance(inner, nn.Module) else model
        self.tokenizer = tokenizer
        self.config = {**asdict(CLIPTextCfg()), **{k: v for k, v in config.items() if k != "quick_gelu"}}
        self.config["quick_gelu"] = bool(config.get("quick_gelu", False))
        self._check()
        self.tower.requires_grad_(False).eval()

    def _check(self) -> None:
        tower = self.tower
        if not hasattr(tower, "transformer") or not hasattr(tower.transformer, "resblocks"):
            raise TextTowerError(
                "the text tower is not an open_clip transformer; use a CLIP model such as ViT-L-14"
            )
        if getattr(tower, "attn_mask", None) is None or getattr(tower, "cls_emb", None) is not None:
            raise TextTowerError(
                "the text tower is not causal (SigLIP) or appends a class token (CoCa), so its states cannot "
                "be cut at the padding; use a CLIP model such as ViT-L-14"
            )
        if len(tower.transformer.resblocks) < UPPER_LAYERS:
            raise TextTowerError(f"the text tower has fewer than {UPPER_LAYERS} layers")

    @property
    def width(self) -> int:
        return int(self.tower.transformer.width)

    @property
    def context_length(self) -> int:
        return int(self.tower.context_length)

    def mask(self, tokens: Tensor) -> Tensor:
        """(N, context) bool: True for real tokens, the end token included.

        The end token is where this model pools: the highest id ("argmax") or the first `eos_id` ("eos").
        """
        if self.config["pool_type"] == "eos":
            end = (tokens == self.config["eos_id"]).int().argmax(1)
        else:
            end = tokens.argmax(1)
        return torch.arange(tokens.shape[1]) <= end[:, None]

    @torch.no_grad()
    def lower_states(self, texts: Sequence[str], batch: int = 256) -> TextStates:
        """States below the last two layers, cut to the longest text: (N, L, D) float32 and mask (N, L)."""
        if not texts:
            return TextStates(torch.zeros(0, 1, self.width), torch.zeros(0, 1, dtype=torch.bool))
        tokens = self.tokenizer(list(texts))
        mask = self.mask(tokens)
        length = int(mask.sum(1).max())
        hidden = torch.cat(
            [self._lower(tokens[i : i + batch, :length]) for i in range(0, len(tokens), batch)]
        )
        return TextStates(hidden.float().cpu(), mask[:, :length])

    def _lower(self, tokens: Tensor) -> Tensor:
        tower = self.tower
        device = tower.positional_embedding.device
        length = tokens.shape[1]
        dtype = tower.transformer.get_cast_dtype()
        x = tower.token_embedding(tokens.to(device)).to(dtype) + tower.positional_embedding[:length].to(dtype)
        causal = tower.attn_mask[:length, :length].to(dtype)
        x = x if tower.transformer.batch_first else x.transpose(0, 1).contiguous()
        for block in tower.transformer.resblocks[:-UPPER_LAYERS]:
            x = block(x, attn_mask=causal)
        return x if tower.transformer.batch_first else x.transpose(0, 1)

    def upper(self) -> UpperText:
        """A trainable copy of the last two layers and the final norm, in float32 on the CPU."""
        upper = UpperText(self.config)
        blocks = self.tower.transformer.resblocks[-UPPER_LAYERS:]
        for mine, theirs in zip(upper.transformer.resblocks, blocks, strict=True):
            mine.load_state_dict(theirs.state_dict())
        upper.ln_final = deepcopy(self.tower.ln_final)
        return upper.float().cpu().requires_grad_(True)


def load_text_tower(reference: str, device: str = "auto") -> TextTower:
    """The text tower of a CLIP model by reference (see components.model.weights), in float32.

    Raises WeightsError when its weights are not on this machine, TextTowerError for a tower of another kind.
    """
    clip = load_clip(reference, device=device, dtype="fp32")
    text_cfg = {**clip.config["text_cfg"], "quick_gelu": clip.config.get("quick_gelu", False)}
    return TextTower(clip.network, clip.tokenizer, text_cfg)
