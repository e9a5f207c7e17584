public import NetworkingCore

extension ServerTrust {
    /// Returns the probable mistakes in the pins of a transport.
    ///
    /// The mistakes are a single pin, expired pins, two entries for a host, and a stack with a server without pins
    /// although other hosts have pins.
    ///
    /// A custom transport returns them from `transportDiagnostics(below:)`:
    ///
    /// ```swift
    /// struct PinnedTransport: NetworkingTransport {
    ///     let trust: ServerTrust
    ///
    ///     func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
    ///         throw NetworkingError(.connection, request: request)
    ///     }
    ///
    ///     func transportDiagnostics(below modifiers: [any NetworkingModifier]) -> [StackDiagnostic] {
    ///         trust.diagnostics(of: self, below: modifiers)
    ///     }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - transport: The transport, which the diagnostics name.
    ///   - modifiers: The modifiers of the stack.
    /// - Returns: The diagnostics.
    public func diagnostics(
        of transport: some NetworkingComponent,
        below modifiers: [any NetworkingModifier]
    ) -> [StackDiagnostic] {
        let date = NetworkEnvironment.current.clock.date
        var messages: [String] = []
        for entry in pins {
            if entry.areExpired(at: date) {
                messages.append(
                    "The pins of \(entry.host) have expired and are not enforced. Replace them, and set a later date."
                )
            }
            if entry.pins.count == 1 {
                messages.append(
                    "\(entry.host) has a single pin, so the app cannot connect once the server changes its key. Add "
                        + "the pin of a backup key."
                )
            }
        }
        for (host, entries) in Dictionary(grouping: pins, by: \.host).sorted(by: { "\($0.key)" < "\($1.key)" })
        where entries.count > 1 {
            messages.append("\(host) has \(entries.count) entries of pins, and only the first applies. Make them one.")
        }
        let servers = modifiers.compactMap { ($0 as? any StackDescribing)?.stackPart.server }
        let hosts = servers.map { String(Authority($0).host) }
        // One transport may serve several stacks, so some entries may be for another stack, but hardly all.
        if !pins.isEmpty, !hosts.isEmpty, !hosts.contains(where: { pins(for: $0) != nil }) {
            messages.append(
                "The stack sends its requests to \(servers.joined(separator: " and ")), which has no pins. The pins "
                    + "are for \(pins.map { "\($0.host)" }.joined(separator: " and ")). Correct the hosts of the pins."
            )
        }
        return messages.map { StackDiagnostic($0, aboutTransport: transport) }
    }
}
