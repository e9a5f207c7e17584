/// A component whose transport has diagnostics of its own.
package protocol TransportDiagnosing {
    /// Returns the probable mistakes in the configuration of the transport.
    ///
    /// - Parameter modifiers: The modifiers of the whole stack, the outermost first.
    /// - Returns: The diagnostics.
    func transportDiagnostics(below modifiers: [any NetworkingModifier]) -> [StackDiagnostic]
}

extension Modified: TransportDiagnosing {
    package func transportDiagnostics(below modifiers: [any NetworkingModifier]) -> [StackDiagnostic] {
        (upstream as? any TransportDiagnosing)?.transportDiagnostics(below: modifiers) ?? []
    }
}

extension AnyNetworkingComponent: TransportDiagnosing {
    package func transportDiagnostics(below modifiers: [any NetworkingModifier]) -> [StackDiagnostic] {
        (base as? any TransportDiagnosing)?.transportDiagnostics(below: modifiers) ?? []
    }
}
