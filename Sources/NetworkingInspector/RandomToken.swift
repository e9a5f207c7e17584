import NetworkingCore

/// An unguessable text: 128 random bits from the system.
enum RandomToken {
    static func make() -> String {
        var generator = SystemRandomNumberGenerator()
        return generator.next().hexadecimal + generator.next().hexadecimal
    }
}
