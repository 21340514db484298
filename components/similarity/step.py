"""Score how well captions fit their pictures, and how sure CLIP is of the labelled breed."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from components.data.batches import answers
from components.data.breeds import STANFORD_DOGS, breed_table
from components.data.images import ImageError, decode_reduced
from components.data.manifest import DatasetManifest
from components.data.scope import scope_columns, scope_rules, skipped_by
from components.data.scores import ScoreCache
from components.data.task import Batches, Task, add_group
from components.model.policy import arithmetic, clip_policy
from components.model.published import CLIP
from components.model.weights import resolve
from components.similarity.confidence import TEMPLATES, BreedConfidence
from components.similarity.cosine import cosine
from components.similarity.embeddings import TextEmbeddings
from components.similarity.options import SimilarityOptions

if TYPE_CHECKING:
    from components.model.clip import ClipModel

INPUTS = ("dataset",)
SPLIT = True
COLUMNS = ["clip_similarity", "breed_confidence", "similarity_skipped_by", "similarity_error"]


def run(task: Task, dataset: DatasetManifest, *, options: SimilarityOptions) -> DatasetManifest:
    """Score the rows inside the scope; pictures embedded before, in any dataset of this root, are reused.

    Raises WeightsError when the model is not on this machine: nothing is downloaded here.
    """
    policy = clip_policy(resolve(options.model, CLIP), arithmetic(options.dtype, options.device))
    scorer = _Scorer(task, options, policy)
    with scorer:
        result = add_group(
            task,
            dataset,
            step="similarity",
            options=options,
            columns=COLUMNS,
            reads=["image", "caption", "breed", *scope_columns(scorer.scope)],
            score=scorer,
            policy=scorer.policy,
        )
    if scorer.sample:
        from components.model.clip import bf16_drift

        texts = [f"a photo of a {name}" for name in scorer.labels.values()][:8]
        drift = bf16_drift(scorer.model, scorer.sample, texts)
        print(
            f"similarity: {scorer.embedded} pictures embedded; largest bfloat16 drift of a cosine {drift:.2e}"
        )
    return result


class _Scorer:
    """Scores the batches of a shard, through the cache of picture embeddings."""

    def __init__(
        self,
        task: Task,
        options: SimilarityOptions,
        policy: dict[str, Any],
    ):
        self.options = options
        self.scope = scope_rules(
            {
                "min_side_px": options.scope_min_side_px,
                "laplacian_variance": options.scope_laplacian_variance,
                "color_shift": options.scope_color_shift,
            }
        )
        self.labels = _labels(options)
        self.policy = {
            "model": policy,
            "templates": list(TEMPLATES),
            "breeds": [list(item) for item in sorted(self.labels.items())],
        }
        self.embedded = 0
        self.sample: list[np.ndarray] = []
        self._pool = ThreadPoolExecutor(task.workers)
        schema = pa.schema([pa.field("embedding", pa.list_(pa.float32()))])
        self._cache = ScoreCache(task.store, "similarity", {"image": policy}, schema)

    @cached_property
    def model(self) -> "ClipModel":
        # Slow to import and to load, which stored scores save.
        from components.model.clip import load_clip

        return load_clip(self.options.model, device=self.options.device, dtype=self.options.dtype)

    @cached_property
    def _texts(self) -> TextEmbeddings:
        return TextEmbeddings(self.model)

    @cached_property
    def _confidence(self) -> BreedConfidence:
        return BreedConfidence(self.model, self.labels)

    def __enter__(self) -> "_Scorer":
        return self

    def __exit__(self, *error: Any) -> None:
        self._pool.shutdown()
        self._cache.flush()

    def __call__(self, batches: Batches) -> Iterator[dict[str, list[Any]]]:
        for batch in batches:
            skipped = skipped_by(batch, self.scope)
            rows = [row for row, rule in enumerate(skipped) if rule is None]
            vectors, errors = self._embed(batch, rows)
            good = [row for row in rows if row in vectors]
            similarity: list[float | None] = [None] * batch.num_rows
            confidence: list[float | None] = [None] * batch.num_rows
            if good:
                images = np.stack([vectors[row] for row in good])
                captions = batch.column("caption").to_pylist()
                cosines = cosine(images, self._texts([captions[row] or "" for row in good]))
                breeds = batch.column("breed").to_pylist()
                sure = self._confidence(images, [breeds[row] for row in good])
                for row, value, probability in zip(good, cosines, sure, strict=True):
                    similarity[row] = float(value) if np.isfinite(value) else None
                    confidence[row] = float(probability) if np.isfinite(probability) else None
                    if not np.isfinite(value):
                        errors[row] = "the model gave a value that is not a number"
            yield {
                "image_id": batch.column("image_id").to_pylist(),
                "clip_similarity": similarity,
                "breed_confidence": confidence,
                "similarity_skipped_by": skipped,
                "similarity_error": [errors.get(row) for row in range(batch.num_rows)],
            }

    def _embed(self, batch: pa.RecordBatch, rows: list[int]) -> tuple[dict[int, np.ndarray], dict[int, str]]:
        """Embeddings and errors by row. What the cache holds is neither decoded nor embedded again."""
        ids, images = batch.column("image_id").to_pylist(), batch.column("image")
        vectors: dict[int, np.ndarray] = {}
        errors: dict[int, str] = {}
        missing: dict[str, list[int]] = {}
        for row in rows:
            known = self._cache.get(ids[row])
            if known is not None:
                vectors[row] = np.asarray(known["embedding"], np.float32)
            else:
                missing.setdefault(ids[row], []).append(row)
        keys = list(missing)
        for start in range(0, len(keys), self.options.batch_size):
            part = keys[start : start + self.options.batch_size]
            decoded = list(self._pool.map(self._decode, [images[missing[key][0]].as_py() for key in part]))
            pictures = {
                key: item for key, item in zip(part, decoded, strict=True) if isinstance(item, np.ndarray)
            }
            for key, item in zip(part, decoded, strict=True):
                if isinstance(item, ImageError):
                    errors.update(dict.fromkeys(missing[key], str(item)))
            embeddings = answers(self.model.embed_images, list(pictures.values()))
            self.embedded += len(pictures)
            self.sample = self.sample or list(pictures.values())[:8]
            for key, vector in zip(pictures, embeddings, strict=True):
                if isinstance(vector, ValueError):
                    errors.update(dict.fromkeys(missing[key], str(vector)))
                else:
                    self._cache.put(key, {"embedding": vector.tolist()})
                    vectors.update(dict.fromkeys(missing[key], vector))
        return vectors, errors

    def _decode(self, data: bytes) -> np.ndarray | ImageError:
        try:
            # Twice the model's side keeps its own resize the one that decides what it sees.
            return decode_reduced(data, 2 * self.model.image_size)
        except ImageError as error:
            return error


def _labels(options: SimilarityOptions) -> dict[str, str]:
    """Breed key -> name of the breeds compared. Raises ValueError for a breed that is not in the table."""
    table = breed_table(options.breeds_csv)
    if not options.breeds:
        return {key: breed.name for key, breed in table.breeds.items() if breed.collection == STANFORD_DOGS}
    unknown = [key for key in options.breeds if key not in table]
    if unknown:
        raise ValueError(
            f"similarity.breeds names {', '.join(unknown)}, which the breed table does not have."
        )
    return {key: table[key].name for key in options.breeds}
