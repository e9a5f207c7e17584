extension CredentialScope {
    /// The rule that a modifier's credentials belong to the only server of its stack, or to one of several by name.
    package var rule: StackRule {
        StackRule { place in
            let outer = place.outer.compactMap(namedServer)
            let inner = place.inner.compactMap(namedServer)
            guard let own = outer.first ?? inner.first,
                let other = (outer.reversed() + inner)
                    .first(where: { isOther($0.authority, than: own.authority) })
            else { return nil }
            return "\(place.name) belongs to \(own.name), which is the nearest server, so requests to \(other.name) go "
                + "without its credentials. Keep one of the two, or name the authority with the parameter at:."
        }
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
        modifier.stackPart.server.map { ($0, modifier.outlineName) }
    }
}
