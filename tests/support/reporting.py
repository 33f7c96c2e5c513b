"""What a failed test shows: the transcripts of its DAP clients, and whatever else its conftest adds."""

import dap_client


def forget_clients():
    """To be called before each test."""
    dap_client.recent_clients.clear()


def add_transcripts(report):
    """Adds the clients' transcripts to the report of a failed test."""
    for client in dap_client.recent_clients:
        report.sections.append((f"DAP transcript: {client.name}", client.text()))
