/// A constraint that no type meets, so that a tuple of such elements is `Void`.
///
/// The methods that create a `Request<Void>`, such as `.delete("users/42")`, have this constraint in place of
/// `Response == Void`. The compiler therefore does not choose `Void` for a request without an explicit type, and
/// reports an error that asks for the type:
///
/// ```swift
/// let deletion: Request<Void> = .delete("users/42")
/// let user: User = try await network.request(.get("users/42"))   // without `: User`, an error
/// ```
///
/// Do not conform a type to it.
public protocol NoElement: SendableMetatype {}

extension NoElement {
    static var impossible: Self {
        preconditionFailure("\(Self.self) must not conform to NoElement")
    }
}
