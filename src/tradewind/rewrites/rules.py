"""The rules, in the order in which they are tried."""

from __future__ import annotations

from tradewind.rewrites.derive_filters_through_join import derive_filters_through_join
from tradewind.rewrites.drop_empty_inputs import drop_empty_inputs
from tradewind.rewrites.drop_identity_maps import drop_identity_maps
from tradewind.rewrites.expand_derived import expand_derived
from tradewind.rewrites.expand_origins import expand_origins
from tradewind.rewrites.flatten_unions import flatten_unions
from tradewind.rewrites.merge_filters import merge_filters
from tradewind.rewrites.merge_maps import merge_maps
from tradewind.rewrites.order_conditions import order_conditions
from tradewind.rewrites.prune_columns import prune_columns
from tradewind.rewrites.push_back_monotone import push_back_monotone
from tradewind.rewrites.push_back_window import push_back_window
from tradewind.rewrites.push_filter_through_groups import push_filter_through_groups
from tradewind.rewrites.push_filter_through_join import push_filter_through_join
from tradewind.rewrites.push_filter_through_map import push_filter_through_map
from tradewind.rewrites.push_filter_through_selection import push_filter_through_selection
from tradewind.rewrites.push_groups_through_disjoint_union import push_groups_through_disjoint_union
from tradewind.rewrites.push_row_local_through_union import push_row_local_through_union
from tradewind.rewrites.push_top_through_union import push_top_through_union
from tradewind.rewrites.rule import Rule
from tradewind.rewrites.share_contained import share_contained
from tradewind.rewrites.share_equal import share_equal
from tradewind.rewrites.simplify_filters import simplify_filters
from tradewind.rewrites.split_aggregate import split_aggregate

RULES: tuple[Rule, ...] = (
    # First, so that all others see the core alone.
    expand_derived,
    # Before anything is pushed: what is pushed through these unions reaches each origin.
    expand_origins,
    flatten_unions,
    # Tidy filters and maps before they are moved: fewer of them move, and they stop looking different.
    merge_filters,
    simplify_filters,
    order_conditions,
    merge_maps,
    drop_identity_maps,
    # Filters go down. Each of these moves one nearer to the streams, so together they come to rest.
    push_filter_through_map,
    push_filter_through_join,
    push_filter_through_groups,
    push_filter_through_selection,
    # Filters that are added. All ask first what is known below, so none adds what is there.
    push_back_monotone,
    push_back_window,
    derive_filters_through_join,
    # Unions open. Filters have arrived above them by now; maps follow so that groups and tops meet the union.
    push_row_local_through_union,
    drop_empty_inputs,
    # Groups that are disjoint need no merge, so this goes before aggregates are split.
    push_groups_through_disjoint_union,
    split_aggregate,
    push_top_through_union,
    # Only now is it known who reads which column.
    prune_columns,
    share_equal,
    # Last and once: it compares parts node by node, so filters must have come to rest; and the filters that it puts
    # above shared parts would be pushed down again if these were not shared.
    share_contained,
)
"""Every rule that may be applied without knowing sites and rates. (Those that may not are in `alternatives`.)"""

_FOR_MANY_PLACES = (
    expand_origins,
    push_row_local_through_union,
    push_groups_through_disjoint_union,
    split_aggregate,
    push_top_through_union,
    share_contained,
)
AT_ONE_SITE: tuple[Rule, ...] = tuple(rule for rule in RULES if rule not in _FOR_MANY_PLACES)
"""The rules that pay where everything is in one place: nothing is split to send less."""
