"""Tradewind answers continuous queries over streams that live in many places."""
