// The link between components is for questions about a stack. A request takes the path of static dispatch instead.

extension NetworkingComponent {
    /// The component that this one sends through; `nil` for a transport.
    var next: (any NetworkingComponent)? {
        upstream as? any NetworkingComponent
    }

    /// The components that a request passes, from this one to the transport.
    var chain: some Sequence<any NetworkingComponent> {
        sequence(first: self as any NetworkingComponent) { $0.next }
    }

    /// The parts that describe themselves, outermost first: the modifiers, and the components that have none.
    private var parts: [any StackDescribing] {
        chain.compactMap { $0 as? any StackDescribing }.flatMap { $0.stackPart.modifiers ?? [$0] }
    }

    /// The modifiers of the stack, outermost first, without absent ones.
    public var modifiers: [any NetworkingModifier] {
        chain.flatMap { ($0 as? any StackDescribing)?.stackPart.modifiers ?? [] }
    }

    /// The request options that the parts of the stack read.
    public var requestOptions: Set<RequestOptionKey> {
        parts.map(\.stackPart)
            .reduce(into: []) { options, part in
                options.formUnion(part.options)
                for branch in part.branches {
                    options.formUnion(branch.requestOptions)
                }
            }
    }

    /// The probable mistakes in how the stack's modifiers are ordered, the outermost modifier's first.
    ///
    /// Any order of modifiers works, but some orders have effects that few apps want. Each modifier has its own rules,
    /// in ``StackPart/rules``, and so has the transport, whose diagnostics are the last. A test of the app can require
    /// that there are no diagnostics:
    ///
    /// ```swift
    /// #expect(network.diagnostics.isEmpty)
    /// ```
    ///
    /// Diagnostics are computed on each access. Sending requests does not compute any.
    public var diagnostics: [StackDiagnostic] {
        let parts = parts
        return parts.indices.flatMap { index in
            let place = StackPlace(of: index, in: parts)
            return parts[index].stackPart.rules
                .compactMap { rule in
                    rule.mistake(place).map { StackDiagnostic($0, about: place.name) }
                }
        }
    }

    /// Returns the reason why a request may have waited for a connection of the transport, and a way to solve it.
    ///
    /// The error of a `timeout` contains it.
    ///
    /// - Parameter request: The request, which has exceeded a time limit.
    /// - Returns: The reason; `nil` if the transport gives none.
    public func connectionShortage(for request: HTTPRequestData) -> String? {
        parts.lazy.compactMap { $0.stackPart.shortage?(request) }.first
    }
}

extension NetworkingComponent {
    /// The environment of work that belongs to a call and is done outside of the stack, such as a wait between two
    /// requests: the caller's environment with the values that the stack sets.
    ///
    /// If the stack sets a value at several places, the outermost one counts.
    package var environmentOfStack: NetworkEnvironment {
        .current.merging(modifiers.reversed())
    }

    /// The environment of the stack's `authenticated` modifier.
    ///
    /// Code that signs in through the stack, without one of its requests, runs in this environment.
    package var environmentOfCredentials: NetworkEnvironment {
        .current.merging(modifiers.prefix { !$0.stackPart.roles.contains(.authentication) })
    }
}

extension NetworkEnvironment {
    /// Returns this environment with all values that modifiers set, where a later modifier counts.
    func merging(_ modifiers: some Sequence<any NetworkingModifier>) -> NetworkEnvironment {
        modifiers.compactMap { $0.stackPart.environment }.reduce(self) { $0.merging($1) }
    }
}
