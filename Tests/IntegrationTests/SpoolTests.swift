import Testing

/// What may put files into the directory for temporary ones: one after the other, since they look for each other's.
@Suite(.serialized)
enum SpoolTests {}
