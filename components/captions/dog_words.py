"""Words for "dog" and "puppy": what admits a caption to the general set."""

from collections.abc import Sequence

from components.captions.phrases import find_phrases, fold, has_phrase

# The default of the option `dog_words`. Inflected forms are listed, since only whole words count outside the
# scripts without spaces; the breed names are those that people write without "dog" and mean nothing else by.
# Left out because they are words of other languages: Italian "cane", Polish "pies", Croatian "pas". Korean
# "개" alone also counts things, so it stands with its particles.
DOG_WORDS: tuple[str, ...] = (
    *("dog", "dogs", "dog's", "dogs'", "doggy", "doggie", "doggies", "puppy", "puppies", "pup", "pups"),
    *("canine", "canines", "hound", "hounds", "pooch"),
    *("terrier", "terriers", "greyhound", "greyhounds", "bulldog", "bulldogs", "sheepdog", "sheepdogs"),
    *("poodle", "poodles", "beagle", "beagles", "spaniel", "spaniels", "dachshund", "dachshunds"),
    *("rottweiler", "rottweilers", "chihuahua", "chihuahuas", "collie", "collies", "corgi", "corgis"),
    *("golden retriever", "golden retrievers", "german shepherd", "german shepherds", "siberian husky"),
    *("狗", "犬", "汪星人", "いぬ", "イヌ", "わんこ", "ワンちゃん"),
    *("강아지", "강아지가", "강아지는", "강아지를", "반려견", "애견", "개가", "개는", "개를", "개와", "개의"),
    *("perro", "perros", "perra", "perras", "perrito", "perritos", "cachorro", "cachorros"),
    *("cão", "cães", "cadela", "cadelas", "cachorra", "cachorrinho"),
    *("chien", "chiens", "chienne", "chiennes", "chiot", "chiots"),
    *(
        "hund",
        "hunde",
        "hunden",
        "hundes",
        "hündin",
        "hündchen",
        "welpe",
        "welpen",
        "valp",
        "hvalp",
        "hundar",
    ),
    *("hond", "honden", "hondje", "cagnolino", "cagnolini", "cagna", "piesek", "szczeniak", "štěně"),
    *("собака", "собаки", "собаку", "собакой", "собак", "щенок", "щенка", "щенки", "пёс", "пес", "цуценя"),
    *("köpek", "köpekler", "köpeği", "anjing", "chó", "koira", "koiran", "koirat", "kutya", "câine", "câini"),
    *("σκύλος", "σκύλο", "σκυλί", "σκυλιά", "κουτάβι"),
    *("كلب", "كلبة", "كلاب", "الكلب", "الكلبة", "الكلاب", "جرو", "الجرو", "جراء", "سگ"),
    *("כלב", "כלבה", "כלבים", "הכלב", "הכלבה", "הכלבים", "גור כלבים"),
    *("कुत्ता", "कुत्ते", "कुत्तों", "कुतिया", "पिल्ला", "पिल्ले", "কুকুর", "நாய்"),
    *("สุนัข", "หมา"),
)
# Phrases that hold a dog word and mean no dog.
NOT_DOGS: tuple[str, ...] = (
    *("hot dog", "hot dogs", "corn dog", "corn dogs", "prairie dog", "prairie dogs"),
    *("perro caliente", "perros calientes", "cachorro-quente", "热狗", "熱狗", "海狗"),
)


def dog_words(caption: str, words: Sequence[str] = DOG_WORDS) -> list[str]:
    """The dog words of a caption, folded, in order; those inside NOT_DOGS do not count."""
    refused = {fold(phrase) for phrase in NOT_DOGS}
    return [found for found in find_phrases(caption, (*words, *NOT_DOGS)) if found not in refused]


def has_dog_word(caption: str, words: Sequence[str] = DOG_WORDS) -> bool:
    """The column caption_has_dog_word."""
    if not has_phrase(caption, words):
        return False
    return bool(dog_words(caption, words))
