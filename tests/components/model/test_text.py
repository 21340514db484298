import open_clip
import pytest
import torch

from components.model.text import TextTower, TextTowerError, UpperText, load_text_tower, stack_states

TEXT = {"context_length": 16, "vocab_size": 64, "width": 32, "heads": 4, "layers": 4}
VISION = {"image_size": 32, "patch_size": 16, "width": 32, "layers": 1, "head_width": 16}


def tokenize(texts):
    """One token a character, start 62, end 63, padded with 0 to 16."""
    rows = [[62, *(ord(c) % 60 + 1 for c in text[:14]), 63] for text in texts]
    return torch.tensor([row + [0] * (16 - len(row)) for row in rows])


def random_model(custom=False, **changes):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        kind = open_clip.CustomTextCLIP if custom else open_clip.CLIP
        quick = changes.pop("quick_gelu", False)
        model = kind(16, dict(VISION), {**TEXT, **changes}, quick_gelu=quick).eval()
        for p in model.parameters():
            if p.dim() > 1:
                torch.nn.init.normal_(p, std=0.2)
    return model


def token_states(model, tokens):
    """open_clip's own forward up to ln_final, caught by a hook."""
    caught = []
    tower = model.text if hasattr(model, "text") else model
    hook = tower.ln_final.register_forward_hook(lambda m, i, output: caught.append(output))
    with torch.no_grad():
        model.encode_text(tokens)
    hook.remove()
    return caught[0]


VARIANTS = {
    "plain": {},
    "quick_gelu": {"quick_gelu": True},
    "custom": {"custom": True},
    "layer_scale": {"ls_init_value": 0.5},
    "eos_pool": {"custom": True, "pool_type": "eos", "eos_id": 63},
    "two_layers": {"layers": 2},
}
TEXTS = ["", "a beagle", "a golden dog"]


@pytest.mark.parametrize("variant", sorted(VARIANTS))
def test_lower_then_upper_equals_the_open_clip_forward(variant):
    changes = dict(VARIANTS[variant])
    model = random_model(**changes)
    changes.pop("custom", None)
    tower = TextTower(model, tokenize, {**TEXT, **changes})
    expected = token_states(model, tokenize(TEXTS))
    states = tower.lower_states(TEXTS)
    upper = tower.upper()
    assert states.mask.sum(1).tolist() == [len(text) + 2 for text in TEXTS]
    with torch.no_grad():
        found = upper(states.hidden)
    length = states.hidden.shape[1]
    assert length == 14
    assert torch.allclose(found[states.mask], expected[:, :length][states.mask], atol=1e-5)


def test_cached_rows_without_padding_give_the_same_states_in_any_batch():
    tower = TextTower(random_model(), tokenize, TEXT)
    together = tower.lower_states(TEXTS)
    rows = [tower.lower_states([text]).row(0)[0] for text in TEXTS]
    stacked = stack_states(rows)
    assert torch.equal(stacked.mask, together.mask)
    assert torch.allclose(stacked.hidden[stacked.mask], together.hidden[together.mask], atol=1e-5)
    upper = tower.upper()
    with torch.no_grad():
        alone = upper(rows[1][None])[0]
        batched = upper(stacked.hidden)[1, : len(rows[1])]
    assert torch.allclose(alone, batched, atol=1e-5)


def test_upper_layers_train_while_the_tower_stays_frozen():
    model = random_model()
    tower = TextTower(model, tokenize, TEXT)
    upper = tower.upper()
    before = {k: v.clone() for k, v in model.state_dict().items()}
    upper(tower.lower_states(TEXTS).hidden).square().mean().backward()
    assert all(p.grad is not None for p in upper.parameters())
    assert not any(p.requires_grad for p in tower.tower.parameters())
    with torch.no_grad():
        for p in upper.parameters():
            p.add_(1.0)
    assert all(torch.equal(before[k], v) for k, v in model.state_dict().items())


def test_upper_text_is_rebuilt_from_its_config():
    tower = TextTower(random_model(quick_gelu=True), tokenize, {**TEXT, "quick_gelu": True})
    upper = tower.upper()
    again = UpperText({k: v for k, v in upper.config.items() if k != "upper_layers"})
    again.load_state_dict(upper.state_dict())
    hidden = tower.lower_states(TEXTS).hidden
    with torch.no_grad():
        assert torch.equal(again(hidden), upper(hidden))


def test_a_local_folder_loads_with_its_own_tokenizer(tmp_path):
    import json

    from safetensors.torch import save_file

    config = {**TEXT, "vocab_size": 49408}
    model = random_model(vocab_size=49408)
    (tmp_path / "open_clip_config.json").write_text(
        json.dumps({"model_cfg": {"embed_dim": 16, "vision_cfg": VISION, "text_cfg": config}})
    )
    save_file(dict(model.state_dict()), tmp_path / "open_clip_model.safetensors")
    tower = load_text_tower(tmp_path)
    states = tower.lower_states(["a photo of a beagle"])
    assert states.mask.sum().item() == 7  # five words between start and end
    expected = token_states(model, open_clip.SimpleTokenizer(context_length=16)(["a photo of a beagle"]))
    with torch.no_grad():
        assert torch.allclose(tower.upper()(states.hidden)[0], expected[0, :7], atol=1e-5)


@pytest.mark.parametrize(
    "changes", [{"no_causal_mask": True, "custom": True}, {"embed_cls": True, "custom": True}, {"layers": 1}]
)
def test_towers_that_cannot_be_split_are_refused(changes):
    with pytest.raises(TextTowerError):
        TextTower(random_model(**changes), tokenize, TEXT)


def test_no_texts_give_no_states():
    assert len(TextTower(random_model(), tokenize, TEXT).lower_states([]).hidden) == 0
