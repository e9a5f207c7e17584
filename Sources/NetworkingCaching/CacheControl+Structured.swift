import NetworkingCore

/// Targeted directives form a Dictionary Structured Field (RFC 9213 section 2.1). A malformed field is ignored as a
/// whole.
extension CacheControl {
    /// Reads the fields of a targeted Cache-Control; `nil` if there are none or they are malformed.
    ///
    /// - Parameter values: The values of the fields.
    init?(structured values: [String]) {
        guard !values.isEmpty, let members = StructuredItem.dictionary(values.joined(separator: ",")), !members.isEmpty
        else { return nil }
        self.init([])
        for (name, member) in members {
            guard let directive = Directives.named[name] else { continue }
            switch (member.value, directive) {
            case (.integer(let number), .maxAge), (.integer(let number), .sMaxAge),
                (.integer(let number), .staleIfError), (.integer(let number), .staleWhileRevalidate):
                insert(directive, seconds: max(0, min(Double(number), 2_147_483_648)))
            case (.boolean(true), .noCache), (.boolean(true), .private):
                insert(directive)
            case (.boolean(true), _) where directive.isFlag:
                insert(directive)
            // A value of the wrong type is ignored.
            default: break
            }
        }
    }
}
