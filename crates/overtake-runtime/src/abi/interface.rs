//! The public interface of the sanitizer, for programs that describe their own synchronisation.
