extension CredentialScope {
    /// Returns a diagnostic if a modifier's credentials belong to one of several servers of its stack.
    ///
    /// - Parameters:
    ///   - modifier: The modifier that adds the credentials.
    ///   - stack: The place of the modifier.
    /// - Returns: A diagnostic if the stack also names another server; otherwise none.
    package func diagnostics(about modifier: some NetworkingModifier, in stack: StackPlace) -> [StackDiagnostic] {
        let outer = stack.outer.compactMap(namedServer)
        let inner = stack.inner.compactMap(namedServer)
        guard let own = outer.first ?? inner.first,
            let other = (outer.reversed() + inner)
                .first(where: { isOther($0.authority, than: own.authority) })
        else { return [] }
        return [
            StackDiagnostic(
                "\(modifier.outlineName) belongs to \(own.name), which is the nearest server, so requests to "
                    + "\(other.name) go without its credentials. "
                    + "Keep one of the two, or name the authority with the parameter at:.",
                about: modifier
            )
        ]
    }

    /// Whether neither the app nor the nearest server names an authority, whatever the scheme of the requests is.
    private func isOther(_ authority: String, than own: String) -> Bool {
        [false, true]
            .allSatisfy { isPlain in
                AuthorityKey(authority, isPlain: isPlain) != AuthorityKey(own, isPlain: isPlain)
                    && !names(authority, isPlain: isPlain)
            }
    }

    private func namedServer(_ modifier: any NetworkingModifier) -> (authority: String, name: String)? {
        (modifier as? any StackDescribing)?.stackPart.server.map { ($0, modifier.outlineName) }
    }
}
