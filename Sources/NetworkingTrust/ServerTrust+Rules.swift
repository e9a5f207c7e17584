public import NetworkingCore

extension ServerTrust {
    /// The rules of a transport about its pins.
    ///
    /// They report a single pin, expired pins, two entries for a host, and a stack with a server without pins although
    /// other hosts have pins. A custom transport declares them:
    ///
    /// ```swift
    /// struct PinnedTransport: NetworkingTransport {
    ///     let trust: ServerTrust
    ///
    ///     func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
    ///         throw NetworkingError(.connection, request: request)
    ///     }
    ///
    ///     var stackPart: StackPart { StackPart(rules: trust.rules) }
    /// }
    /// ```
    public var rules: [StackRule] {
        pins.flatMap(\.rules) + repeatedHosts + [serverHasPins]
    }

    private var repeatedHosts: [StackRule] {
        Dictionary(grouping: pins, by: \.host).filter { $0.value.count > 1 }.sorted { "\($0.key)" < "\($1.key)" }
            .map { host, entries in
                StackRule { _ in
                    "\(host) has \(entries.count) entries of pins, and only the first applies. Make them one."
                }
            }
    }

    private var serverHasPins: StackRule {
        StackRule { place in
            let servers = place.outer.reversed().compactMap(\.stackPart.server)
            let hosts = servers.map { String(Authority($0).host) }
            // One transport may serve several stacks, so some entries may be for another stack, but hardly all.
            guard !pins.isEmpty, !hosts.isEmpty, !hosts.contains(where: { pins(for: $0) != nil }) else { return nil }
            return "The stack sends its requests to \(servers.joined(separator: " and ")), which has no pins. The pins "
                + "are for \(pins.map { "\($0.host)" }.joined(separator: " and ")). Correct the hosts of the pins."
        }
    }
}

extension HostPins {
    fileprivate var rules: [StackRule] {
        [
            StackRule { _ in
                guard areExpired(at: NetworkEnvironment.current.clock.date) else { return nil }
                return "The pins of \(host) have expired and are not enforced. Replace them, and set a later date."
            },
            StackRule { _ in
                guard pins.count == 1 else { return nil }
                return
                    "\(host) has a single pin, so the app cannot connect once the server changes its key. Add the pin "
                    + "of a backup key."
            },
        ]
    }
}
