import Foundation
package import Testing

/// A property of the machine that some tests depend on.
///
/// ```swift
/// @Test(.requires(.unprivilegedUser)) func unreadableFileIsNamed() async throws { … }
/// ```
///
/// A target declares the requirements that only its tests have in an extension.
package struct Requirement: Sendable {
    /// The reason that is printed when the test is skipped.
    package let reason: SkipReason
    /// Returns whether the machine meets the requirement.
    package let isMet: @Sendable () async -> Bool

    /// Creates a requirement.
    ///
    /// - Parameters:
    ///   - reason: The reason to print when a test is skipped.
    ///   - isMet: Returns whether the machine meets the requirement. It is called for each test.
    package init(_ reason: SkipReason, isMet: @escaping @Sendable () async -> Bool) {
        self.reason = reason
        self.isMet = isMet
    }

    /// The public suites, which are not part of this repository.
    package static let publicSuites = Requirement(.publicSuites) {
        PublicSuite.allCases.allSatisfy(\.isPresent)
    }

    /// A second volume that tests can write to.
    package static let sharedMemory = Requirement(.sharedMemory) {
        FileManager.default.isWritableFile(atPath: "/dev/shm")
    }

    /// A user that file permissions restrict, so not root.
    package static let unprivilegedUser = Requirement(.unprivilegedUser) { getuid() != 0 }
}

extension Trait where Self == ConditionTrait {
    /// Skips a test, or the tests of a suite, unless a requirement is met.
    ///
    /// - Parameters:
    ///   - requirement: The requirement.
    ///   - sourceLocation: The place of the trait.
    /// - Returns: The trait.
    package static func requires(
        _ requirement: Requirement,
        sourceLocation: SourceLocation = #_sourceLocation
    ) -> Self {
        .enabled(Comment(rawValue: requirement.reason.rawValue), sourceLocation: sourceLocation) {
            await requirement.isMet()
        }
    }
}
