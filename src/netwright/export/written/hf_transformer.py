"""A Turing machine's Transformer as a causal language model for Hugging Face's transformers.

The text is the input's symbols, `<start>`, and then one token for each output: `state:symbol:R`.
An output y is fixed by its state, symbol and move, so a token's vector is y itself, and its logit
the product with y. A run that ends without a rule ends in `<reject>` or `<halt>`.
"""

import torch
from transformers import GenerationMixin, PretrainedConfig, PreTrainedModel
from transformers.cache_utils import DynamicCache
from transformers.modeling_outputs import CausalLMOutputWithPast

from netwright.export.written.torch_transformer import Transformer


class NetwrightConfig(PretrainedConfig):
    """What the network is (names.json), and how its vocabulary is ordered."""

    model_type = "netwright_transformer"

    def __init__(self, names=None, letters=0, **others):
        self.names, self.letters = names or {}, letters
        super().__init__(**others)


class CacheKept:
    """The decoder's keys and values in a cache of transformers, after the encoder's."""

    def __init__(self, cache):
        self.cache, self.tokens = cache, cache.get_seq_length(1)

    def __call__(self, layer, K, V):
        """Append those of new tokens to a layer's, and return all of them."""
        K, V = self.cache.update(K[:, None], V[:, None], int(layer))
        return K[:, 0], V[:, 0]


class NetwrightForCausalLM(PreTrainedModel, GenerationMixin):
    """Tokens `<start>`, `<pad>`, `<reject>`, the letters of inputs, and one for each output y."""

    config_class = NetwrightConfig
    base_model_prefix = "network"
    START, FIRST_LETTER = 0, 3
    SHARPNESS = 64.0  # the right logit leads by 1/2: sampling goes wrong once in e^32 tokens

    def __init__(self, config):
        super().__init__(config)
        self.network = Transformer(config.names)
        self.register_buffer("vectors", torch.zeros(config.vocab_size, self.network.size))
        self.register_buffer("bias", torch.zeros(config.vocab_size))
        self.post_init()

    def forward(
        self,
        input_ids,
        attention_mask=None,
        past_key_values=None,
        use_cache=None,
        **_,
    ):
        """Logits for the next tokens; `hidden_states` has the outputs y themselves."""
        cache = past_key_values
        if cache is None and use_cache:
            cache = DynamicCache()
        if cache is not None and cache.get_seq_length():
            layer = cache.layers[0]
            mask = None if attention_mask is None else attention_mask[:, : layer.keys.shape[-2]]
            external = (layer.keys[:, 0], layer.values[:, 0], self._hidden(mask))
            ahead, tokens = 0, input_ids
            self._check_outputs(tokens)
        else:
            ahead = self._start(input_ids)
            word, tokens = input_ids[:, :ahead], input_ids[:, ahead:]
            self._check_outputs(tokens[:, 1:])
            mask = None if attention_mask is None else attention_mask[:, :ahead]
            letters = self._letters(word, mask)
            external = self.network.encode(letters, mask)
            if cache is not None:
                cache.update(external[0][:, None], external[1][:, None], 0)
        kept = None if cache is None else CacheKept(cache)
        y = self.network.decode(external, self.vectors[tokens], kept)
        logits = self.SHARPNESS * (y @ self.vectors.mT + self.bias)
        logits = torch.cat([logits.new_zeros(len(logits), ahead, logits.shape[-1]), logits], dim=1)
        return CausalLMOutputWithPast(logits=logits, past_key_values=cache, hidden_states=(y,))

    def _start(self, ids):
        """The column of `<start>`, the same in every row."""
        columns = (ids == self.START).int().argmax(-1)
        if not (ids == self.START).any(-1).all() or (columns != columns[0]).any():
            raise ValueError("every row needs <start> in the same column: pad on the left")
        return int(columns[0])

    def _letters(self, word, mask):
        """The numbers of the input's symbols."""
        letters = word - self.FIRST_LETTER
        wrong = (letters < 0) | (letters >= self.config.letters)
        if (wrong if mask is None else wrong & (mask != 0)).any():
            raise ValueError("only symbols of the input can come before <start>")
        return letters.clamp(0, max(0, self.config.letters - 1))

    def _check_outputs(self, tokens):
        """Check that only outputs, or what may follow the end of a run, come after `<start>`."""
        letters = (tokens >= self.FIRST_LETTER) & (tokens < self.FIRST_LETTER + self.config.letters)
        if (letters | (tokens == self.START)).any():
            raise ValueError("only outputs can come after <start>")

    @staticmethod
    def _hidden(mask):
        """A mask of the symbols that only pad a row, as `Transformer.encode` returns it."""
        if mask is None:
            return None
        return ((mask == 0) & mask.any(-1, keepdim=True))[..., None, :]

    def prepare_inputs_for_generation(
        self, input_ids, past_key_values=None, attention_mask=None, use_cache=None, **kwargs
    ):
        """Pass the newest token alone, once the cache has the others."""
        if past_key_values is not None and past_key_values.get_seq_length():
            input_ids = input_ids[:, -1:]
        return {
            "input_ids": input_ids,
            "past_key_values": past_key_values,
            "attention_mask": attention_mask,
            "use_cache": use_cache,
        }

    # For the check of an export.

    def outputs(self, word):
        """(y, attended) along the text that `generate` writes."""
        letters = [self.FIRST_LETTER + n for n in self.network.tokens(word)]
        text = torch.tensor([[*letters, self.START]], device=self.vectors.device)
        cache = DynamicCache()
        with torch.no_grad(), self.network.watched(".pattern") as patterns:
            while True:
                found = self(text, past_key_values=cache)
                text = found.logits[:, -1].argmax(-1, keepdim=True)
                yield found.hidden_states[0][0, -1], _attended(patterns)

    def pair(self, y):
        """The state and the symbol of the token that y becomes; None for the end."""
        token = int((y @ self.vectors.mT + self.bias).argmax())
        return self.network.pair(self.vectors[token])


def _attended(patterns):
    return {
        name.removesuffix(".pattern"): pattern[0, -1].nonzero()[:, 0]
        for name, pattern in patterns.items()
        if name.startswith("decoder")
    }
