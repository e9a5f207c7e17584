#if Valkey
/// The start of the keys of one use of a server.
struct KeyNamespace: Sendable {
    let text: String

    /// Creates a namespace.
    ///
    /// A brace would end the part of a key that selects its slot in a cluster. It is not replaced, because then two
    /// namespaces could become the same one.
    init(_ text: String) {
        precondition(
            !text.isEmpty && !text.contains { "{}".contains($0) },
            "namespace must not be empty and must not contain { or } (is \(text))"
        )
        self.text = text
    }

    /// Returns a key; the keys with the same hash tag are in one slot.
    func key(_ tag: String, _ name: String) -> String {
        "{\(text):\(tag)}:\(name)"
    }
}
#endif
