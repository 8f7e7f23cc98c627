// Empty: a target's precompiled header is made for a source that includes it, and main.cpp does
// not.
