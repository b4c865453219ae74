"""Models behind one small protocol: what is asked and answered (`messages`), what can go wrong (`errors`), a file for
each way to reach one. SDKs are imported where they are used."""
