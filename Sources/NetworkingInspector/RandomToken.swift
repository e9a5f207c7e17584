import Networking

/// Text that nobody can guess: 128 bits from the system.
enum RandomToken {
    static func make() -> String {
        var generator = SystemRandomNumberGenerator()
        return generator.next().hexadecimal + generator.next().hexadecimal
    }
}
