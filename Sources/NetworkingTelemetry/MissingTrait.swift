#if !Telemetry
public import NetworkingCore

extension NetworkingComponent {
    /// Replaces the modifier in builds without the trait `Telemetry`, so that the compiler's error names the trait.
    @available(
        *,
        unavailable,
        message: """
            telemetry() needs the trait Telemetry of swift-networking: \
            .package(url: …, traits: [.defaults, "Telemetry"])
            """
    )
    public func telemetry() -> some NetworkingComponent {
        self
    }
}
#endif
