import NetworkingCore

extension LawCheck {
    /// Asks a stack about the transport and the modifier inside of it.
    func answersAsUpstream() throws {
        let upstream = AskedTransport().modified(AskedModifier())
        let stack = wrap(AnyNetworkingComponent(upstream))
        try require(
            stack.modifiers.last is AskedModifier,
            "The modifiers of the upstream are not among those of the stack, so diagnostics overlook them."
        )
        let options = upstream.requestOptions
        try require(
            stack.requestOptions.isSuperset(of: options),
            "The options that the upstream reads are reported as unread."
        )
        try require(
            stack.diagnostics.contains { $0.modifier == "AskedTransport" },
            "The diagnostics of the transport are not among those of the stack."
        )
        try require(
            stack.connectionShortage(for: request) != nil,
            "The transport's reason for a wait is not in the error of a timeout."
        )
    }
}

/// A transport with an answer to each question.
private struct AskedTransport: NetworkingTransport, CustomStringConvertible {
    let description = "AskedTransport"

    func exchange(_ request: HTTPRequestData) async throws -> HTTPResponseData {
        HTTPResponseData(request: request)
    }

    var stackPart: StackPart {
        StackPart(
            options: [.networkAccess],
            connectionShortage: { _ in "The transport was asked." },
            rules: [StackRule { _ in "The transport was asked." }]
        )
    }
}

private struct AskedModifier: UpstreamLimited {}
