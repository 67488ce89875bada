"""Embedding filters: their principal components, and what each looks like."""

from vitcore.analysis.filters.looks import Look as Look
from vitcore.analysis.filters.looks import look as look
from vitcore.analysis.filters.principal import MOST as MOST
from vitcore.analysis.filters.principal import Components as Components
from vitcore.analysis.filters.principal import Kinds as Kinds
from vitcore.analysis.filters.principal import Rebuilt as Rebuilt
from vitcore.analysis.filters.principal import as_picture as as_picture
from vitcore.analysis.filters.principal import colour_share as colour_share
from vitcore.analysis.filters.principal import components as components
from vitcore.analysis.filters.principal import kinds as kinds
from vitcore.analysis.filters.principal import low_share as low_share
from vitcore.analysis.filters.principal import needed as needed
from vitcore.analysis.filters.principal import rebuild as rebuild
